import type { CostlyRequest } from "./costly-request.ts";

/** Nested objects of a hundred described fields each. */
export function largeDefinition(): object {
  const fields = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`field${index}`, { type: "string", description: "A field of text." }]),
  );
  const groups = Object.fromEntries(
    Array.from({ length: 210 }, (_, index) => [`group${index}`, { type: "object", properties: fields }]),
  );
  return {
    metadata: { name: "larges.large.example.com" },
    spec: {
      group: "large.example.com",
      scope: "Namespaced",
      names: { plural: "larges", kind: "Large" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: groups } } } },
        },
      ],
    },
  };
}

/** Describes that definition anew, so that what is published of it is made again. */
export const changeOfLargeDefinition: NonNullable<CostlyRequest["renewal"]> = {
  method: "PATCH",
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/larges.large.example.com",
  type: "application/json-patch+json",
  body: () =>
    JSON.stringify([
      { op: "add", path: "/spec/versions/0/schema/openAPIV3Schema/description", value: `As of ${performance.now()}.` },
    ]),
};
