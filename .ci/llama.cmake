# llama-cpp-python has llama.cpp build its command-line tools' library too, which it does not use; see the Makefile.
set(LLAMA_BUILD_COMMON OFF)
