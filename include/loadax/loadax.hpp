// Everything that needs no engine beyond fmt and Boost.Regex.
#pragma once

#include <loadax/array/host_array.hpp>
#include <loadax/array/leaf_path.hpp>
#include <loadax/array/reflect.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/barrier.hpp>
#include <loadax/core/checked.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/index_permutation.hpp>
#include <loadax/core/indexed_range.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/log.hpp>
#include <loadax/core/random.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/core/thread_context.hpp>
