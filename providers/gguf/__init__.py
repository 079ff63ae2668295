"""Models on this machine without a server: GGUF files, run by llama.cpp in a thread."""
