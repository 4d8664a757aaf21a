import { document } from "../http/documents.ts";
import type { OpenApiDocuments } from "../http/routes.ts";
import { gnosticDocument, gnosticMediaType, gnosticReplyType } from "../resources/openapi-gnostic.ts";
import { swagger } from "../resources/openapi-v2.ts";
import { openApiV3, type KeepDocument, type OpenApiDocument, type OpenApiInfo } from "../resources/openapi-v3.ts";
import type { Resource } from "../resources/resource.ts";

const json = "application/json";

/** OpenAPI of whatever resources are served; documents of groups that a change leaves alone are not made again. */
export function openApiPublisher(version: string): (resources: readonly Resource[]) => OpenApiDocuments {
  const kept = new Map<string, { readonly members: readonly Resource[]; readonly document: OpenApiDocument }>();
  const keep: KeepDocument = (key, members, make) => {
    const known = kept.get(key);
    const same =
      known?.members.length === members.length && members.every((member, index) => member === known.members[index]);
    if (same) return known.document;
    const made = make();
    kept.set(key, { members, document: made });
    return made;
  };
  return (resources) =>
    openApiDocuments(resources, {
      info: { title: "Pratique", version },
      keep,
      keepOnly: (keys) => {
        for (const key of kept.keys()) if (!keys.has(key)) kept.delete(key);
      },
    });
}

interface Publishing {
  readonly info: OpenApiInfo;
  readonly keep: KeepDocument;
  /** Forgets the documents of all other groups. */
  readonly keepOnly: (keys: ReadonlyMap<string, unknown>) => void;
}

/** OpenAPI of the resources served; each document is made when it is first asked for. */
function openApiDocuments(resources: readonly Resource[], publishing: Publishing): OpenApiDocuments {
  const { info } = publishing;
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
      const { index, documents } = openApiV3(resources, info, publishing.keep);
      publishing.keepOnly(documents);
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
