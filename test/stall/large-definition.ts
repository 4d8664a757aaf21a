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
