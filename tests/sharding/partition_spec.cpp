#include <string>
#include <type_traits>
#include <vector>

#include <loadax/sharding/partition_spec.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using lx::P;

TEST_CASE("specs that mean the same are equal") {
  CHECK(P("x", lx::none) == P("x"));
  CHECK(P(lx::none, lx::none) == P());
  CHECK(P(lx::axes()) == P());
  CHECK(P(lx::axes("x"), "y") == P("x", "y"));
  CHECK(P(lx::axes(), "y") == P(lx::none, "y"));
  CHECK_FALSE(P("x") == P(lx::none, "x"));
  CHECK_FALSE(P(lx::axes("x", "y")) == P(lx::axes("y", "x")));
  CHECK_FALSE(P("x", "y") == P(lx::axes("x", "y")));
}

TEST_CASE("a spec has one entry for each dimension, up to the last that is split") {
  const P spec("data", lx::none, lx::axes("model", "seq"), lx::none);
  REQUIRE(spec.entries().size() == 3);
  CHECK(spec.entries()[0].names().size() == 1);
  CHECK(spec.entries()[1].names().empty());
  CHECK(spec.entries()[2].names()[1] == "seq");
  CHECK(to_string(spec) == "P(data, none, axes(model, seq))");
  CHECK(to_string(P()) == "P()");
}

TEST_CASE("a spec may be made of strings and of entries known at run time") {
  const std::string data = "data";
  CHECK(P(data) == P("data"));
  CHECK(P(std::vector<P::Entry>{data, lx::none, lx::axes("a", data + "2")}) ==
        P("data", lx::none, lx::axes("a", "data2")));
  const P original("x");
  P copy(original);
  CHECK(copy == original);
  CHECK_FALSE(std::is_constructible_v<P::Entry, std::nullptr_t>);
  CHECK_FALSE(std::is_constructible_v<P, int>);
}

TEST_CASE("an axis twice in a spec is an error that says where") {
  CHECK(contains(message_of<lx::ArgumentError>([] { P("x", "x"); }),
                 {"P(x, x)", "'x' twice", "dimensions 0 and 1", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { P(lx::none, lx::axes("x", "y", "x")); }),
                 {"'x' twice", "dimensions 1 and 1", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { P("x", ""); }),
                 {"empty axis name in dimension 1", "hint: "}));
}

TEST_CASE("the spec of a leaf is a spec") {
  const lx::SpecOf<float> leaf = P("model");
  CHECK(leaf == P("model"));
  CHECK(lx::SpecOf<float>{} == P());
  CHECK(P(leaf) == P("model"));
}
