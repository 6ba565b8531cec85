// The command line of the digits examples.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "digits/dataset.hpp"

namespace digits {

struct Options {
  int nodes = 1;
  int devices = 8;
  std::uint64_t epochs = 20;
  std::size_t batch_size = 64;
  std::uint64_t seed = 0;
  double lr = 0.2;
  std::string data = LOADAX_EXAMPLES_DATA;
};

/// Reads the command line; ends the program on --help (0) and on a wrong argument (not 0).
inline Options parse(int argc, char** argv, const std::string& description) {
  Options options;
  CLI::App app{description};
  app.option_defaults()->always_capture_default();
  const CLI::Validator positive(
      [](const std::string& text) {
        const double value = std::strtod(text.c_str(), nullptr);
        return value > 0 && std::isfinite(value) ? "" : text + " is not a positive number";
      },
      "POSITIVE");
  const CLI::Validator whole(
      [](const std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        return error == std::errc() && stop == end ? ""
                                                   : text + " is not a whole number below 2^64";
      },
      "");
  app.add_option("--nodes", options.nodes, "simulated nodes");
  app.add_option("--devices", options.devices, "simulated devices of each node");
  app.add_option("--epochs", options.epochs, "passes over the training images")
      ->check(whole)
      ->check(positive);
  app.add_option("--batch-size", options.batch_size, "rows of a global batch")
      ->check(CLI::Range(std::size_t{1}, train_size));
  app.add_option("--seed", options.seed, "of the initial weights and of the order of samples")
      ->check(whole);
  app.add_option("--lr", options.lr, "learning rate")->check(positive);
  app.add_option("--data", options.data, "folder of the digits")->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace digits
