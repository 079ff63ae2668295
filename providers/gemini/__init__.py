"""Google's Gemini API, and the same in Google Cloud."""
