"""Files that read_file shows in a form of their own: PDF, notebooks and archives; outlines of long files."""
