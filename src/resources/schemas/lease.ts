import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import { about, int32, message, microTime, object, pointer, str } from "./shorthand.ts";

// Lease. Source: k8s.io/api coordination/v1.

export const leaseSpec: ObjectSchema = message("io.k8s.api.coordination.v1.LeaseSpec", {
  holderIdentity: about("Who holds the lease; empty when nobody does.", pointer(str(1))),
  leaseDurationSeconds: about("Seconds after renewTime from which others may take the lease.", pointer(int32(2))),
  acquireTime: about("When the present holder took it.", pointer(microTime(3))),
  renewTime: about("When the holder last renewed it.", pointer(microTime(4))),
  leaseTransitions: about("How often the holder changed.", pointer(int32(5))),
  strategy: about("How the next leader is chosen in coordinated election.", pointer(str(6))),
  preferredHolder: about("Whom the present holder should give way to.", pointer(str(7))),
});

export const leaseSchema: ObjectSchema = kind(
  "io.k8s.api.coordination.v1.Lease",
  "A claim on something for a time: leadership among controllers, or the heartbeat of a node.",
  {
    spec: about("Who holds the lease, and until when.", object(2, leaseSpec)),
  },
);
