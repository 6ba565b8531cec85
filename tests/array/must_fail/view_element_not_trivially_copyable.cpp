// error: loadax: an array element must be trivially copyable
#include <string>

#include <loadax/array/view.hpp>
std::string name;
loadax::View<std::string> names(&name, {1});
