"""Models on this machine without a server: a GGUF file, read by llama.cpp in a thread of its own."""
