import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import {
  about,
  byKey,
  int32,
  list,
  mergeBy,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  atomic,
} from "./shorthand.ts";

// CSINode. Source: k8s.io/api storage/v1.

const volumeNodeResources: ObjectSchema = message("io.k8s.api.storage.v1.VolumeNodeResources", {
  count: about("How many volumes of the driver the node can use; unbounded when absent.", pointer(int32(1))),
});

const csiNodeDriver: ObjectSchema = message("io.k8s.api.storage.v1.CSINodeDriver", {
  name: about("Name of the driver.", required(str(1))),
  nodeID: about("What the driver calls the node.", required(str(2))),
  topologyKeys: about("Labels of nodes that the driver tells places by.", strings(3, atomic)),
  allocatable: about("How much of the driver the node can use.", pointer(object(4, volumeNodeResources))),
});

export const csiNodeSpec: ObjectSchema = message("io.k8s.api.storage.v1.CSINodeSpec", {
  drivers: about("The drivers that run on the node.", required(list(1, csiNodeDriver, byKey("name"), mergeBy("name")))),
});

export const csiNodeSchema: ObjectSchema = kind(
  "io.k8s.api.storage.v1.CSINode",
  "The CSI drivers that run on the node of the same name.",
  { spec: about("The drivers of the node.", required(object(2, csiNodeSpec))) },
);
