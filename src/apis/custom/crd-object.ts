import type { ApiObject, Condition } from "../../apimachinery/object.ts";

/** A CustomResourceDefinition in the shape that validation has left behind. Source: apiextensions-apiserver apis/apiextensions/v1. */
export interface CustomResourceDefinition extends ApiObject {
  readonly spec: CrdSpec;
  readonly status?: CrdStatus;
}

export interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: "Namespaced" | "Cluster";
  readonly versions: readonly CrdVersion[];
  readonly conversion?: CrdConversion;
}

/** What a kind is called. */
export interface CrdNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown };
  readonly subresources?: { readonly status?: object; readonly scale?: ScalePaths };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
}

/** Where an object says how many replicas it has, as simple JSON paths. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "integer" | "number" | "string" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

export interface CrdConversion {
  readonly strategy: "None" | "Webhook";
  readonly webhook?: ConversionWebhook;
}

/** A webhook that converts objects between versions. */
export interface ConversionWebhook {
  readonly clientConfig?: {
    readonly url?: string;
    readonly service?: {
      readonly namespace: string;
      readonly name: string;
      readonly path?: string;
      readonly port?: number;
    };
    /** PEM in base64. */
    readonly caBundle?: string;
  };
  readonly conversionReviewVersions: readonly string[];
}

export interface CrdStatus {
  readonly conditions?: readonly Condition[];
  readonly acceptedNames?: CrdNames;
  readonly storedVersions?: readonly string[];
}

/** The finalizer that holds a definition until its objects are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** The names with their defaults: the singular is the kind in lower case, the list kind is the kind and `List`. */
export function completeNames<T extends Partial<CrdNames>>(names: T): T {
  const { kind = "", singular = "", listKind = "" } = names;
  if (kind === "") return names;
  return {
    ...names,
    singular: singular === "" ? kind.toLowerCase() : singular,
    listKind: listKind === "" ? `${kind}List` : listKind,
  };
}
