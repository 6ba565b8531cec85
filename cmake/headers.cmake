# The headers, one list for each room; tests/checks/layering.py --write keeps it.
set(LOADAX_CORE_ROOMS core array device comm mesh data format sharding placement spmd feed parallel show umbrella)

set(LOADAX_HEADERS_core
  core/barrier.hpp
  core/checked.hpp
  core/doorbell.hpp
  core/element_type.hpp
  core/error.hpp
  core/fault_point.hpp
  core/float16.hpp
  core/index_permutation.hpp
  core/indexed_range.hpp
  core/inline_vector.hpp
  core/log.hpp
  core/meeting.hpp
  core/random.hpp
  core/shape.hpp
  core/thread_context.hpp
)

set(LOADAX_HEADERS_array
  array/host_array.hpp
  array/leaf_path.hpp
  array/reflect.hpp
  array/structure.hpp
  array/view.hpp
)

set(LOADAX_HEADERS_device
  device/device.hpp
  device/simulated_topology.hpp
  device/topology.hpp
)

set(LOADAX_HEADERS_comm
  comm/any_communicator.hpp
  comm/communicator.hpp
  comm/in_process.hpp
  comm/reduce.hpp
)

set(LOADAX_HEADERS_mesh
  mesh/axis_names.hpp
  mesh/create_device_mesh.hpp
  mesh/device_grid.hpp
  mesh/hybrid_mesh_shape.hpp
  mesh/infer_mesh_shape.hpp
  mesh/mesh.hpp
  mesh/mesh_config.hpp
  mesh/mesh_shape.hpp
  mesh/rules.hpp
  mesh/scope.hpp
)

set(LOADAX_HEADERS_data
  data/batch.hpp
  data/batch_slot.hpp
  data/collate.hpp
  data/dataloader.hpp
  data/dataset.hpp
  data/engine.hpp
  data/engine_options.hpp
  data/engine_state.hpp
  data/engine_workers.hpp
  data/epoch_view.hpp
  data/error_policy.hpp
  data/example.hpp
  data/field.hpp
  data/host_sink.hpp
  data/load_failure.hpp
  data/load_task.hpp
  data/loader_statistics.hpp
  data/map.hpp
  data/prefetch_budget.hpp
  data/progress.hpp
  data/random_map.hpp
  data/range_loader.hpp
  data/row_view.hpp
  data/shuffle.hpp
  data/simple_dataset.hpp
  data/slice.hpp
  data/transforms.hpp
  data/worker_activity.hpp
)

set(LOADAX_HEADERS_format
  format/idx.hpp
)

set(LOADAX_HEADERS_sharding
  sharding/batch_spec.hpp
  sharding/named_sharding.hpp
  sharding/partition_spec.hpp
  sharding/process_local.hpp
  sharding/reshard_plan.hpp
)

set(LOADAX_HEADERS_placement
  placement/array.hpp
  placement/copy_batch.hpp
  placement/device_memory.hpp
  placement/global_to_host_array.hpp
  placement/host_to_global_device_array.hpp
  placement/runtime.hpp
  placement/specs.hpp
  placement/strided_copy.hpp
  placement/team.hpp
  placement/with_sharding_constraint.hpp
)

set(LOADAX_HEADERS_spmd
  spmd/arena.hpp
  spmd/axis_groups.hpp
  spmd/collective_shapes.hpp
  spmd/collectives.hpp
  spmd/device_context.hpp
  spmd/inout.hpp
  spmd/permute_pairs.hpp
  spmd/replicas.hpp
  spmd/shard_map.hpp
  spmd/step_results.hpp
  spmd/step_signature.hpp
  spmd/step_state.hpp
  spmd/traffic.hpp
)

set(LOADAX_HEADERS_feed
  feed/sharded_dataloader.hpp
  feed/sharded_sink.hpp
)

set(LOADAX_HEADERS_parallel
  parallel/ddp.hpp
  parallel/fsdp.hpp
  parallel/preset.hpp
)

set(LOADAX_HEADERS_show
  show/mesh.hpp
  show/progress_bar.hpp
  show/sharding.hpp
  show/table.hpp
)

set(LOADAX_HEADERS_umbrella
  loadax.hpp
)
