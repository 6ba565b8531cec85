#!/usr/bin/env python3
"""Reference values for loadax's random numbers and its index permutation.

    python3 tests/golden/permutation.py | clang-format > tests/golden/permutation.hpp

Both are implemented here a second time, from their descriptions, in Python's unbounded integers:

* Philox4x64-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
  Where NumPy is installed, this implementation is first compared with numpy.random.Philox.
* A sequence of numbers is Philox under the key (seed, stream) of the counters
  (block, index, epoch, 0) for block = 0, 1, ...; each gives four numbers. The streams are 0 for the
  user, 1 for permutations, 2 for records.
* A number below a bound: Lemire, "Fast random integer generation in an interval" (2019).
* The permutation of n indices draws from stream 1 with index n. Up to 256: Fisher-Yates from the
  end. Above: 8 Feistel rounds on bit_width(n - 1) bits, the lower half the longer one. Round r
  draws (a, b) and is (a x + b) mod 2^64 >> (64 - bits). Even rounds change the upper half by the
  lower one, odd rounds the lower half by the upper one; repeated until the result is below n.
"""

MASK = 2**64 - 1


def philox(key, counter):
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (b >> 64) ^ c1 ^ k0, b & MASK, (a >> 64) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return [c0, c1, c2, c3]


def compare_with_numpy():
    try:
        import numpy
    except ImportError:
        return "NumPy not at hand"
    for key, counter in KNOWN_ANSWERS:
        # NumPy counts up before it computes a block.
        before = (sum(c << (64 * i) for i, c in enumerate(counter)) - 1) % 2**256
        words = [(before >> (64 * i)) & MASK for i in range(4)]
        theirs = numpy.random.Philox(
            key=numpy.array(key, dtype=numpy.uint64), counter=numpy.array(words, dtype=numpy.uint64)
        ).random_raw(4)
        assert [int(v) for v in theirs] == philox(key, counter), (key, counter)
    return f"compared with numpy.random.Philox of NumPy {numpy.__version__}"


KNOWN_ANSWERS = [
    ((0, 0), (0, 0, 0, 0)),
    ((MASK, MASK), (MASK, MASK, MASK, MASK)),
    ((1, 2), (3, 4, 5, 6)),
    ((0x452821E638D01377, 0xBE5466CF34E90C6C),
     (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)),
]


def numbers(seed, stream, epoch, index):
    block = 0
    while True:
        yield from philox((seed, stream), (block, index, epoch, 0))
        block += 1


def below(draw, bound):
    product = next(draw) * bound
    while (product & MASK) < (-bound) % 2**64 % bound:
        product = next(draw) * bound
    return product >> 64


def permutation(n, seed, epoch):
    """The function position -> index."""
    draw = numbers(seed, 1, epoch, n)
    if n <= 256:
        table = list(range(n))
        for i in range(n, 1, -1):
            j = below(draw, i)
            table[i - 1], table[j] = table[j], table[i - 1]
        return table.__getitem__
    width = (n - 1).bit_length()
    low_bits = (width + 1) // 2
    high_bits = width - low_bits
    rounds = [(next(draw), next(draw)) for _ in range(8)]

    def mix(r, x, bits):
        a, b = rounds[r]
        return ((a * x + b) & MASK) >> (64 - bits)

    def at(x):
        while True:
            low, high = x % 2**low_bits, x >> low_bits
            for r in range(0, 8, 2):
                high ^= mix(r, low, high_bits)
                low ^= mix(r + 1, high, low_bits)
            x = (high << low_bits) | low
            if x < n:
                return x

    return at


def main():
    source = compare_with_numpy()
    print("// Written by tests/golden/permutation.py; its Philox was")
    print(f"// {source}.")
    print("#pragma once\n\n#include <array>\n#include <cstdint>\n")
    print("namespace golden {\n")
    print("struct PhiloxCase {\n  std::array<std::uint64_t, 2> key;")
    print("  std::array<std::uint64_t, 4> counter, result;\n};")
    print("inline constexpr PhiloxCase philox[] = {")
    words = lambda values: "{" + ", ".join(f"0x{v:016X}" for v in values) + "}"
    for key, counter in KNOWN_ANSWERS:
        print(f"    {{{words(key)},\n     {words(counter)},\n     {words(philox(key, counter))}}},")
    print("};\n")

    print("struct NumbersCase {\n  std::uint64_t seed, stream, epoch, index;")
    print("  std::array<std::uint64_t, 6> first;\n};")
    print("inline constexpr NumbersCase numbers[] = {")
    for case in [(0, 0, 0, 0), (7, 0, 0, 0), (7, 1, 3, 1000), (MASK, 2, 5, 2**40)]:
        draw = numbers(*case)
        first = [next(draw) for _ in range(6)]
        print(f"    {{0x{case[0]:X}, {case[1]}, {case[2]}, {case[3]},")
        print(f"     {{{', '.join(f'0x{v:016X}' for v in first[:3])},")
        print(f"      {', '.join(f'0x{v:016X}' for v in first[3:])}}}}},")
    print("};\n")

    print("struct BelowCase {\n  std::uint64_t seed, bound;")
    print("  std::array<std::uint64_t, 6> first;\n};")
    print("inline constexpr BelowCase below[] = {")
    for seed, bound in [(1, 10), (2, 3 * 2**62), (3, 1), (4, 2**63 + 1)]:
        draw = numbers(seed, 0, 0, 0)
        values = [below(draw, bound) for _ in range(6)]
        print(f"    {{{seed}, {bound}u, {{{', '.join(f'{v}u' for v in values)}}}}},")
    print("};\n")

    print("/// The indices at the positions 0, 1, 2, 3, n / 2, n - 2, n - 1.")
    print("struct PermutationCase {\n  std::uint64_t size, seed, epoch;")
    print("  std::array<std::uint64_t, 7> indices;\n};")
    print("inline constexpr PermutationCase permutation[] = {")
    for n in [8, 100, 256, 257, 1000, 65536, 65537, 262145, 1048577, 10**7, 2**40, 2**64 - 1]:
        for seed, epoch in [(0, 0), (7, 0), (7, 1), (8, 0)]:
            p = permutation(n, seed, epoch)
            values = [p(i) for i in (0, 1, 2, 3, n // 2, n - 2, n - 1)]
            print(f"    {{{n}u, {seed}, {epoch}, {{{', '.join(f'{v}u' for v in values)}}}}},")
    print("};\n")
    print("}  // namespace golden")


if __name__ == "__main__":
    main()
