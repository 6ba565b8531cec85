// Meshes and arrays that tests use.
#pragma once

#include <cstddef>
#include <numeric>
#include <utility>

#include <loadax/array/host_array.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/mesh/mesh.hpp>

namespace loadax_test {

/// A mesh whose devices are all in this process.
inline loadax::Mesh mesh_of(const loadax::MeshShape<>& shape, loadax::AxisNames<> names) {
  const auto devices = static_cast<int>(loadax::device_count(shape));
  const loadax::SimulatedTopology topology{{.nodes = 1, .devices_per_node = devices}};
  return {loadax::create_device_mesh(shape, topology), std::move(names)};
}

/// Four devices along "data" on two nodes, each node a process, of which this one is `me`.
inline loadax::Mesh mesh_of_process(int me) {
  const loadax::SimulatedTopology topology{{.nodes = 2,
                                            .devices_per_node = 2,
                                            .processes = loadax::Processes::per_node,
                                            .process_index = me}};
  return {loadax::create_device_mesh(loadax::MeshShape{4}, topology), {"data"}, me};
}

/// 0, 1, 2, ...
template <class T = float>
loadax::HostArray<T> counting(const loadax::Shape& shape) {
  loadax::HostArray<T> array(shape);
  std::iota(array.values().begin(), array.values().end(), T{});
  return array;
}

}  // namespace loadax_test
