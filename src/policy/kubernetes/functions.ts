import type { CelFunction } from "../cel/environment.ts";
import { formatFunctions } from "./format-functions.ts";
import { listExtensions } from "./list-extensions.ts";
import { listFunctions } from "./list-functions.ts";
import { networkFunctions } from "./network-functions.ts";
import { quantityFunctions } from "./quantity-functions.ts";
import { regexFunctions } from "./regex-functions.ts";
import { semverFunctions } from "./semver-functions.ts";
import { urlFunctions } from "./url-functions.ts";

/** What Kubernetes adds to CEL for every expression: quantities, networks, URLs, versions, named formats, lists and patterns. */
export const kubernetesFunctions: readonly CelFunction[] = [
  ...formatFunctions,
  ...listExtensions,
  ...listFunctions,
  ...networkFunctions,
  ...quantityFunctions,
  ...regexFunctions,
  ...semverFunctions,
  ...urlFunctions,
];
