import { document } from "../http/documents.ts";
import type { OpenApiDocuments } from "../http/routes.ts";
import { gnosticDocument, gnosticMediaType, gnosticReplyType } from "../resources/openapi-gnostic.ts";
import { swagger } from "../resources/openapi-v2.ts";
import { openApiV3 } from "../resources/openapi-v3.ts";
import type { Resource } from "../resources/resource.ts";

const json = "application/json";

/** OpenAPI of the resources served; each document is made when it is first asked for. */
export function openApiDocuments(resources: readonly Resource[], version: string): OpenApiDocuments {
  const info = { title: "Pratique", version };
  const made = new Map<string, ReturnType<OpenApiDocuments["v2"]>>();
  let v3: ReturnType<OpenApiDocuments["v3"]> | undefined;
  const kept = (type: string, make: () => Uint8Array, reply: string): ReturnType<OpenApiDocuments["v2"]> => {
    const doc = made.get(type) ?? document(Buffer.from(make()), reply);
    made.set(type, doc);
    return doc;
  };
  return {
    v3: () => {
      if (v3 !== undefined) return v3;
      const { index, documents } = openApiV3(resources, info);
      v3 = {
        index: { body: Buffer.from(index.bytes), hash: index.hash, contentType: json },
        byKey: new Map(
          [...documents].map(([key, { bytes, hash }]) => [key, { body: Buffer.from(bytes), hash, contentType: json }]),
        ),
      };
      return v3;
    },
    v2: (accept) => {
      const wanted = (accept ?? "").split(",").map((one) => one.split(";", 1)[0]?.trim() ?? "");
      if (wanted.includes(gnosticMediaType))
        return kept("gnostic", () => gnosticDocument(swagger(resources, info)), gnosticReplyType);
      if (wanted.some((one) => one === "" || one === json || one === "*/*")) {
        return kept(json, () => Buffer.from(JSON.stringify(swagger(resources, info))), json);
      }
      return undefined;
    },
  };
}
