# Read by the build of llama-cpp-python (see the Makefile), which takes two fifths of the time without the
# parts that amem does not use: pictures and sound, and what llama.cpp's own programs share.
set(LLAVA_BUILD OFF)
set(LLAMA_BUILD_COMMON OFF)
