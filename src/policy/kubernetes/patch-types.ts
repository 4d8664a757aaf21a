import { celFunction, type CelEnvironment } from "../cel/environment.ts";
import { dynType, objectType, openObjectType, stringType, type CelType } from "../cel/types.ts";

/** The type of an apply configuration. Its parts are `Object.` and the path of their fields. */
export const applyConfigurationType: CelType = openObjectType("Object");

/** The type of an operation of a JSON patch. */
export const jsonPatchType: CelType = objectType("JSONPatch", {
  op: stringType,
  path: stringType,
  from: stringType,
  value: dynType,
});

/** The types and functions that are available to expressions that create patches. Source: apiserver cel/mutation, cel/library jsonpatch. */
export const patchEnvironment: Pick<CelEnvironment, "functions" | "messageType"> = {
  functions: [
    // Source: RFC 6901, section 3.
    celFunction("jsonpatch.escapeKey(string): string", (key: string) =>
      key.replaceAll("~", "~0").replaceAll("/", "~1"),
    ),
  ],
  messageType: (name) => {
    if (name === "JSONPatch") return jsonPatchType;
    if (name === "Object") return applyConfigurationType;
    return name.startsWith("Object.") ? openObjectType(name) : undefined;
  },
};
