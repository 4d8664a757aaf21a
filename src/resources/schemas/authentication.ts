import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  bool,
  described,
  extraMap,
  int64,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  time,
} from "./shorthand.ts";

// Reviews that ask who somebody is, and token requests. Source: k8s.io/api authentication/v1.

export const boundObjectReference: ObjectSchema = message("io.k8s.api.authentication.v1.BoundObjectReference", {
  kind: str(1),
  apiVersion: str(2),
  name: str(3),
  uid: str(4),
});

export const userInfo: ObjectSchema = described(
  "io.k8s.api.authentication.v1.UserInfo",
  "A user as an authenticator found it.",
  {
    username: about("The name that identifies the user.", str(1)),
    uid: about("Tells apart users who bore the same name at different times.", str(2)),
    groups: about("Groups the user is in.", strings(3, atomic)),
    extra: about("Further attributes from the authenticator.", extraMap(4)),
  },
);

export const selfSubjectReviewStatus: ObjectSchema = message("io.k8s.api.authentication.v1.SelfSubjectReviewStatus", {
  userInfo: about("The user behind the request.", object(1, userInfo)),
});

export const selfSubjectReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authentication.v1.SelfSubjectReview",
  "Asks who the caller is in the eyes of the server.",
  {
    status: about("The answer, filled in by the server.", object(2, selfSubjectReviewStatus)),
  },
);

export const tokenRequestSpec: ObjectSchema = message("io.k8s.api.authentication.v1.TokenRequestSpec", {
  audiences: about("Whom the token is meant for.", strings(1, atomic)),
  boundObjectRef: about("The object with which the token dies.", pointer(object(3, boundObjectReference))),
  expirationSeconds: about("How long the token should hold, in seconds; the server may give less.", pointer(int64(4))),
});

export const tokenRequestStatus: ObjectSchema = message("io.k8s.api.authentication.v1.TokenRequestStatus", {
  token: about("The opaque bearer token.", str(1)),
  expirationTimestamp: about("When the token ends.", time(2)),
});

export const tokenRequestSchema: ObjectSchema = kind(
  "io.k8s.api.authentication.v1.TokenRequest",
  "Asks for a token of a service account.",
  {
    spec: about("What the token is for, and for how long.", object(2, tokenRequestSpec)),
    status: about("The token, filled in by the server.", object(3, tokenRequestStatus)),
  },
);

export const tokenReviewSpec: ObjectSchema = message("io.k8s.api.authentication.v1.TokenReviewSpec", {
  token: about("The opaque bearer token.", required(str(1))),
  audiences: about("Names by which the asking service knows itself; default the API server.", strings(2, atomic)),
});

export const tokenReviewStatus: ObjectSchema = message("io.k8s.api.authentication.v1.TokenReviewStatus", {
  authenticated: about("True when the token belongs to a known user.", bool(1)),
  user: about("That user.", object(2, userInfo)),
  error: about("Why the token could not be checked.", str(3)),
  audiences: about("Audiences that both the token and the question name.", strings(4, atomic)),
});

export const tokenReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authentication.v1.TokenReview",
  "Asks whom a bearer token belongs to.",
  {
    spec: about("The token and the audiences it must be meant for.", required(object(2, tokenReviewSpec))),
    status: about("The answer, filled in by the server.", object(3, tokenReviewStatus)),
  },
);
