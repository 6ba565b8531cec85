# The headers, one list for each room; tests/checks/layering.py --write keeps it.
set(LOADAX_CORE_ROOMS core array umbrella)

set(LOADAX_HEADERS_core
  core/barrier.hpp
  core/checked.hpp
  core/element_type.hpp
  core/error.hpp
  core/index_permutation.hpp
  core/indexed_range.hpp
  core/inline_vector.hpp
  core/log.hpp
  core/random.hpp
  core/shape.hpp
  core/thread_context.hpp
)

set(LOADAX_HEADERS_array
  array/host_array.hpp
  array/leaf_path.hpp
  array/reflect.hpp
  array/structure.hpp
  array/view.hpp
)

set(LOADAX_HEADERS_umbrella
  loadax.hpp
)
