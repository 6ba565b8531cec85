// error: loadax: an array element must be trivially copyable
#include <string>

#include <loadax/array/host_array.hpp>
loadax::HostArray<std::string> names{{2}};
