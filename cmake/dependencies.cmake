# What the library itself needs: the system's packages first, else a download.
include(FetchContent)

# The oldest that will do, for the package files too.
set(LOADAX_FMT_VERSION 9)
set(LOADAX_BOOST_VERSION 1.74)

find_package(Threads REQUIRED)

FetchContent_Declare(fmt
  GIT_REPOSITORY https://github.com/fmtlib/fmt.git
  GIT_TAG 9.1.0
  SYSTEM
  FIND_PACKAGE_ARGS ${LOADAX_FMT_VERSION} CONFIG)
# Alone, Boost.Regex needs no other part of Boost from 1.76 on.
FetchContent_Declare(Boost
  GIT_REPOSITORY https://github.com/boostorg/regex.git
  GIT_TAG boost-1.83.0
  SYSTEM
  FIND_PACKAGE_ARGS ${LOADAX_BOOST_VERSION} CONFIG COMPONENTS regex)

block()
  set(BOOST_REGEX_STANDALONE ON)
  if(NOT TARGET fmt::fmt)
    FetchContent_MakeAvailable(fmt)
  endif()
  if(NOT TARGET Boost::regex)
    FetchContent_MakeAvailable(Boost)
  endif()
endblock()

# An installed loadax finds these packages again, which it can not where they are part of this build.
foreach(LOADAX_dependency IN ITEMS fmt::fmt Boost::regex)
  get_target_property(LOADAX_is_imported ${LOADAX_dependency} IMPORTED)
  if(LOADAX_INSTALL AND NOT LOADAX_is_imported)
    message(NOTICE "loadax: ${LOADAX_dependency} is built here, not installed: no install rules")
    set(LOADAX_INSTALL OFF)
  endif()
endforeach()
