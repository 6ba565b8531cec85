// Kinds of aggregates, each with its fields' number, names and order. Kinds that are refused with a
// text are in must_fail/ here and in tests/data.
#include <any>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/array/reflect.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>

#include "support/catch.hpp"

namespace lx = loadax;

namespace {

using lx::detail::ReadableFields;

template <class T>
std::vector<std::string_view> names_of() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<std::string_view>{lx::detail::field_name<T, I>()...};
  }(std::make_index_sequence<lx::detail::field_count<T>>());
}

/// That T's fields are the members, in this order and of these names.
template <class T, class... M>
void check_fields(T& object, const std::vector<std::string_view>& names, M T::*... members) {
  static_assert(ReadableFields<T>);
  REQUIRE(lx::detail::field_count<T> == sizeof...(M));
  CHECK(names_of<T>() == names);
  const std::vector<const void*> expected{&(object.*members)...};
  const auto found = std::apply([](auto&... field) { return std::vector<const void*>{&field...}; },
                                lx::detail::tie_fields(object));
  CHECK(found == expected);
}

/// The same for what has a default.
template <class T, class... M>
void check_fields(const std::vector<std::string_view>& names, M T::*... members) {
  T object{};
  check_fields(object, names, members...);
}

struct One {
  int only;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct CArrays {
  int line[3];
  float grid[2][3];
  std::uint8_t cube[2][2][2];
};
struct StdArrays {
  std::array<float, 4> line;
  std::array<std::array<int, 2>, 3> grid;
  std::array<int[2], 3> mixed;
};
struct Sequences {
  std::vector<float> tokens;
  std::vector<bool> bits;
  std::span<const int> view;
  std::span<int, 3> fixed;
};
struct Numbers {
  std::complex<float> z;
  bool flag;
  char letter;
  long double wide;
  std::complex<double> list[2];
};
enum class Colour : std::uint8_t { red, green };
enum Plain { first, second };
struct Enums {
  Colour colour;
  Plain plain;
  Colour both[2];
};
struct Texts {
  std::string text;
  std::string_view view;
  const char* pointer;
};
struct Optionals {
  std::optional<int> maybe;
  std::optional<std::vector<int>> list;
  std::variant<int, float> either;
};
struct Tuples {
  std::tuple<int, float> tuple;
  std::pair<int, std::array<int, 2>> pair;
  std::tuple<> empty;
};
struct Maps {
  std::map<std::string, std::vector<int>> named;
  std::map<int, int> numbered;
};
struct AnyFirst {
  std::any anything;
  int number;
};
struct FunctionLast {
  int number;
  std::function<int(int)> function;
};
struct TakesAnything {
  template <class T>
  TakesAnything(T&&) {}  // NOLINT
};
struct Greedy {
  TakesAnything greedy;
  int number;
};
struct MoveOnly {
  std::unique_ptr<int> owner;
  std::unique_ptr<int[]> array;
};
struct NoDefault {
  explicit NoDefault(int n) : number(n) {}
  int number;
};
struct WithoutDefault {
  int before;
  NoDefault field;
  int behind;
};
struct ExplicitDefault {
  explicit ExplicitDefault() = default;
};
struct Inner {
  int x[2];
  One one;
};
struct WithoutDefaultAmongArrays {
  int list[3];
  std::span<int, 3> fixed;
  std::vector<std::array<int, 2>> pairs;
  lx::HostArray<int> matrix;  // one brace may be a shape or an array
  float grid[2][2];
  lx::HostArray<float> arrays[2];
  Inner inner;
};
struct WithExplicitDefault {
  int before;
  ExplicitDefault field;
};
struct Constants {
  const int number;
  const std::array<float, 2> pair;
  const int list[2];
};
struct Mutable {
  mutable int count;
  int seen;
};
struct alignas(64) Aligned {
  char first;
  alignas(32) float lanes[4];
  alignas(16) int last;
};
struct Defaults {
  int a = 3;
  std::vector<int> b = {1, 2};
  float c[2] = {1, 2};
};
struct BraceElision {  // plain initialisers would fill inner.x[0], inner.x[1], ... first
  Inner inner;
  std::array<Inner, 2> list;
  Inner more[2];
  int last;
};
struct Empty {};
struct WithEmpty {
  Empty nothing;
  int a;
};
struct References {
  std::reference_wrapper<int> wrapped;
  int* pointer;
  int Sixteen::* member;
  void (*function)(int);
};
union NamedUnion {
  int i;
  float f;
};
struct WithUnion {
  NamedUnion number;
  int which;
};
struct Recursive {
  std::vector<Recursive> children;
  std::unique_ptr<Recursive> next;
  int value;
};
template <class T, std::size_t N>
struct Generic {
  std::array<T, N> values;
  T scale;
};
struct OddNames {
  int _underscore, camelCase, x1, value, T, operator_;
};
struct Arrays {
  lx::HostArray<float> host;
  lx::View<const int> view;
};

template <template <class> class Leaf>
struct Block {
  Leaf<float> w, b;
};
template <template <class> class Leaf>
struct Network {
  std::vector<Block<Leaf>> blocks;
  std::map<std::string, Leaf<double>> named;
  std::tuple<Leaf<int>, Block<Leaf>> tuple;
  Block<Leaf> head;
  Leaf<bool> mask;
};

struct Base {
  int a;
};
struct Derived : Base {
  int b;
};
struct EmptyDerived : Empty {
  int a, b;
};
struct TwoBases : Empty, Base {
  int b;
};
struct OnlyBase : Base {};
struct DerivedFromVector : std::vector<int> {
  int b;
};
struct DerivedWithoutDefault : Base {
  NoDefault field;
};
struct Seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
struct Reference {
  int a;
  int& b;
};
struct ConstReference {
  const int& a;
};
struct RvalueReference {
  int a;
  int&& b;
};
struct BitField {
  int a;
  int b : 3, c : 4;
};
struct NamelessFirst {
  union {
    int a;
    float b;
  };
  int c;
};
struct NamelessLast {
  NoDefault c;
  union {
    float b;
    int a;
  };
};
class Private {
  [[maybe_unused]] int a = 0;

 public:
  int b = 0;
};
struct Constructed {
  explicit Constructed(int x) : a(x) {}
  int a;
};
struct Virtual {
  virtual void f() {}
  int a;
};

}  // namespace

TEST_CASE("fields of every kind are counted, named and tied in order", "[array]") {
  check_fields({"only"}, &One::only);
  check_fields({"line", "grid", "cube"}, &CArrays::line, &CArrays::grid, &CArrays::cube);
  check_fields({"line", "grid", "mixed"}, &StdArrays::line, &StdArrays::grid, &StdArrays::mixed);
  check_fields({"z", "flag", "letter", "wide", "list"}, &Numbers::z, &Numbers::flag,
               &Numbers::letter, &Numbers::wide, &Numbers::list);
  check_fields({"colour", "plain", "both"}, &Enums::colour, &Enums::plain, &Enums::both);
  check_fields({"text", "view", "pointer"}, &Texts::text, &Texts::view, &Texts::pointer);
  check_fields({"maybe", "list", "either"}, &Optionals::maybe, &Optionals::list,
               &Optionals::either);
  check_fields({"tuple", "pair", "empty"}, &Tuples::tuple, &Tuples::pair, &Tuples::empty);
  check_fields({"named", "numbered"}, &Maps::named, &Maps::numbered);
  check_fields({"owner", "array"}, &MoveOnly::owner, &MoveOnly::array);
  check_fields({"number", "pair", "list"}, &Constants::number, &Constants::pair, &Constants::list);
  check_fields({"first", "lanes", "last"}, &Aligned::first, &Aligned::lanes, &Aligned::last);
  check_fields({"a", "b", "c"}, &Defaults::a, &Defaults::b, &Defaults::c);
  check_fields({"inner", "list", "more", "last"}, &BraceElision::inner, &BraceElision::list,
               &BraceElision::more, &BraceElision::last);
  check_fields({"count", "seen"}, &Mutable::count, &Mutable::seen);
  check_fields({"x", "one"}, &Inner::x, &Inner::one);
  check_fields({"nothing", "a"}, &WithEmpty::nothing, &WithEmpty::a);
  check_fields({"number", "which"}, &WithUnion::number, &WithUnion::which);
  check_fields({"children", "next", "value"}, &Recursive::children, &Recursive::next,
               &Recursive::value);
  using Doubles = Generic<double, 3>;
  check_fields({"values", "scale"}, &Doubles::values, &Doubles::scale);
  check_fields({"_underscore", "camelCase", "x1", "value", "T", "operator_"},
               &OddNames::_underscore, &OddNames::camelCase, &OddNames::x1, &OddNames::value,
               &OddNames::T, &OddNames::operator_);
  check_fields({"host", "view"}, &Arrays::host, &Arrays::view);
  check_fields({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"},
               &Sixteen::a, &Sixteen::b, &Sixteen::c, &Sixteen::d, &Sixteen::e, &Sixteen::f,
               &Sixteen::g, &Sixteen::h, &Sixteen::i, &Sixteen::j, &Sixteen::k, &Sixteen::l,
               &Sixteen::m, &Sixteen::n, &Sixteen::o, &Sixteen::p);
}

TEST_CASE("fields that have no default, or take anything, count once", "[array]") {
  int number = 0, three[3]{};
  Sequences sequences{{}, {}, {}, three};
  check_fields(sequences, {"tokens", "bits", "view", "fixed"}, &Sequences::tokens, &Sequences::bits,
               &Sequences::view, &Sequences::fixed);
  check_fields({"anything", "number"}, &AnyFirst::anything, &AnyFirst::number);
  check_fields({"number", "function"}, &FunctionLast::number, &FunctionLast::function);
  Greedy greedy{number, 1};
  check_fields(greedy, {"greedy", "number"}, &Greedy::greedy, &Greedy::number);
  WithoutDefault without{1, NoDefault(2), 3};
  check_fields(without, {"before", "field", "behind"}, &WithoutDefault::before,
               &WithoutDefault::field, &WithoutDefault::behind);
  using Among = WithoutDefaultAmongArrays;
  Among among{{}, three, {}, {}, {}, {}, {}};
  check_fields(among, {"list", "fixed", "pairs", "matrix", "grid", "arrays", "inner"}, &Among::list,
               &Among::fixed, &Among::pairs, &Among::matrix, &Among::grid, &Among::arrays,
               &Among::inner);
  WithExplicitDefault with_explicit{1, ExplicitDefault()};
  check_fields(with_explicit, {"before", "field"}, &WithExplicitDefault::before,
               &WithExplicitDefault::field);
  References references{number, &number, &Sixteen::a, nullptr};
  check_fields(references, {"wrapped", "pointer", "member", "function"}, &References::wrapped,
               &References::pointer, &References::member, &References::function);
}

TEST_CASE("an aggregate over a leaf template has the same fields for each leaf", "[array]") {
  const std::vector<std::string_view> names{"blocks", "named", "tuple", "head", "mask"};
  using Host = Network<lx::HostArray>;
  using Views = Network<lx::ConstView>;
  check_fields(names, &Host::blocks, &Host::named, &Host::tuple, &Host::head, &Host::mask);
  check_fields(names, &Views::blocks, &Views::named, &Views::tuple, &Views::head, &Views::mask);
}

TEST_CASE("types whose fields cannot be read are told apart", "[array]") {
  static_assert(!ReadableFields<Empty>);
  static_assert(!ReadableFields<Seventeen>);
  static_assert(!ReadableFields<Derived> && !ReadableFields<EmptyDerived>);
  static_assert(!ReadableFields<TwoBases> && !ReadableFields<OnlyBase>);
  static_assert(!ReadableFields<DerivedFromVector> && !ReadableFields<DerivedWithoutDefault>);
  static_assert(!ReadableFields<Reference> && !ReadableFields<ConstReference>);
  static_assert(!ReadableFields<RvalueReference> && !ReadableFields<BitField>);
  static_assert(!ReadableFields<NamelessFirst> && !ReadableFields<NamelessLast>);
  static_assert(!ReadableFields<Private> && !ReadableFields<Constructed>);
  static_assert(!ReadableFields<Virtual>);
  static_assert(!ReadableFields<int> && !ReadableFields<int[2]> && !ReadableFields<NamedUnion>);
  static_assert(!ReadableFields<std::array<int, 2>> && !ReadableFields<std::tuple<int>>);
  SUCCEED();
}
