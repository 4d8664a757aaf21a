import type { ObjectSchema } from "../../core/schema.ts";
import { about, described, int64, required, str, time } from "./shorthand.ts";

/** A statement about an object at a point in time. Source: k8s.io/apimachinery meta/v1 Condition. */
export const condition: ObjectSchema = described(
  "io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
  "A statement about an object at a point in time.",
  {
    type: about("What is stated, in CamelCase.", required(str(1))),
    status: about("True, False or Unknown.", required(str(2))),
    observedGeneration: about("The generation of the object that was looked at.", int64(3)),
    lastTransitionTime: about("When the status last changed.", required(time(4))),
    reason: about("Why, for programs.", required(str(5))),
    message: about("Why, for people.", required(str(6))),
  },
);
