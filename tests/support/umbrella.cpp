// The second translation unit of every test: what is not inline is defined twice.
#include <loadax/loadax.hpp>
