# What the project's own tests, examples and benchmarks are compiled with; no consumer sees it.
option(LOADAX_WERROR "Make warnings errors in the project's own targets" OFF)
set(LOADAX_SANITIZE "" CACHE STRING
    "Sanitizers of the project's own targets: address,undefined or thread")

add_library(loadax_own_flags INTERFACE)
target_compile_options(loadax_own_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<BOOL:${LOADAX_WERROR}>:-Werror>)
if(LOADAX_SANITIZE)
  target_compile_options(loadax_own_flags INTERFACE
    -fsanitize=${LOADAX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(loadax_own_flags INTERFACE -fsanitize=${LOADAX_SANITIZE})
endif()
target_link_libraries(loadax_own_flags INTERFACE loadax::loadax)
