// error: loadax: an example must be a field
#include <map>
#include <string>

#include <loadax/data/batch.hpp>
loadax::Batch<std::map<std::string, int>> batch;
