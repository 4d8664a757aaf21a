import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";

// Service. Source: k8s.io/api core/v1. No object of it is ever stored, so that its specification is left out.

export const serviceSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.Service",
  "One address for a set of pods. This hub runs no pods and has none.",
  {},
);
