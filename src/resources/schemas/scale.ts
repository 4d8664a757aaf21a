import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import { about, described, int32, object, required, str } from "./shorthand.ts";

// How many replicas something has. Source: k8s.io/api autoscaling/v1.

const scaleSpec: ObjectSchema = described("io.k8s.api.autoscaling.v1.ScaleSpec", "What is wanted.", {
  replicas: about("The wanted number of replicas.", int32(1)),
});

const scaleStatus: ObjectSchema = described("io.k8s.api.autoscaling.v1.ScaleStatus", "What there is.", {
  replicas: about("The actual number of replicas.", required(int32(1))),
  selector: about("The label selector of the replicas, as text.", str(2)),
});

export const scaleSchema: ObjectSchema = kind(
  "io.k8s.api.autoscaling.v1.Scale",
  "How many replicas an object has, and how many it should have.",
  {
    spec: about("What is wanted.", object(2, scaleSpec)),
    status: about("What there is.", object(3, scaleStatus)),
  },
);
