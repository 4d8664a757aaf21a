import { ageOf } from "../columns.ts";
import type { Column } from "../resource.ts";
import type { PrinterColumn } from "./crd-object.ts";
import { pathReader, type PathReader } from "./printer-path.ts";

/** The column of a kind that names none: its age. */
const ageOnly: readonly PrinterColumn[] = [
  {
    name: "Age",
    type: "date",
    description: "How long ago the server created the object.",
    jsonPath: ".metadata.creationTimestamp",
  },
];

/**
 * The columns after the name that a definition asks for; only the age where it asks for none. What is missing in an object shows as null.
 * Source: apiextensions-apiserver pkg/registry/customresource/tableconvertor.
 */
export function printerColumns(columns: readonly PrinterColumn[] | undefined): readonly Column[] {
  const wanted = columns === undefined || columns.length === 0 ? ageOnly : columns;
  return wanted.map((column) => {
    const { name, type, format, description = "", priority } = column;
    const read = pathReader(column.jsonPath) ?? nothing;
    return {
      name,
      type,
      ...(format === undefined ? {} : { format }),
      description:
        description === "" ? `Custom resource definition column (in JSONPath format): ${column.jsonPath}` : description,
      ...(priority === undefined ? {} : { priority }),
      cell: (object, now) => cellOf(type, read(object), now),
    };
  });
}

const nothing: PathReader = () => [];

function cellOf(type: PrinterColumn["type"], values: readonly unknown[], now: number): ReturnType<Column["cell"]> {
  const [value] = values;
  if (value === undefined || value === null) return null;
  switch (type) {
    case "string":
      return values.map(plainText).join(" ");
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, now);
  }
}

/** A value as Go prints it; objects and lists as JSON. */
function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "<nil>" : JSON.stringify(value);
}
