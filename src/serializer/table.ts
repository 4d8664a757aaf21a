import type { ApiObject } from "../apimachinery/object.ts";
import type { Column, Resource } from "../apis/resource.ts";

/** What a row carries besides its cells: metadata alone, nothing, or the whole object. */
export type IncludeObject = "Metadata" | "None" | "Object";

/** A column as clients see it. */
export interface TableColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly (string | number | boolean | null)[];
  readonly object: ApiObject | null;
}

/** The metadata of a list or, in a watch, of the one object shown. */
export interface TableMetadata {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Objects as rows of cells, ready to print. Source: apimachinery meta/v1 Table. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: TableMetadata;
  readonly columnDefinitions: readonly TableColumnDefinition[];
  readonly rows: readonly TableRow[];
}

export interface TableOptions {
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** Default `Metadata`. */
  readonly includeObject?: IncludeObject;
  readonly metadata?: TableMetadata;
  /** Of the group meta.k8s.io; default `v1`. */
  readonly version?: "v1" | "v1beta1";
  /** Default `include`; `omit` from the second event of a watch on. */
  readonly columnDefinitions?: "include" | "omit";
}

const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "The name of the object, unique within its kind and namespace.",
  cell: (object) => object.metadata.name ?? "",
};

/** The value of the query parameter `includeObject`, where absent and empty mean `Metadata`; undefined for any other word (400 to the client). */
export function parseIncludeObject(value: string | null | undefined): IncludeObject | undefined {
  switch (value ?? "") {
    case "":
    case "Metadata":
      return "Metadata";
    case "None":
      return "None";
    case "Object":
      return "Object";
    default:
      return undefined;
  }
}

/** The columns as they are printed: Name first, unless the kind places a column of format `name` itself (events). */
export function tableColumns(resource: Pick<Resource, "columns">): readonly Column[] {
  return resource.columns.some((column) => column.format === "name")
    ? resource.columns
    : [nameColumn, ...resource.columns];
}

/** The Table for some objects of one kind. Built-in and custom kinds alike bring nothing but their columns. */
export function tableFor(
  resource: Pick<Resource, "columns">,
  objects: readonly ApiObject[],
  options: TableOptions,
): Table {
  const columns = tableColumns(resource);
  const apiVersion = `meta.k8s.io/${options.version ?? "v1"}`;
  const shown = rowObject(options.includeObject ?? "Metadata", apiVersion);
  return {
    kind: "Table",
    apiVersion,
    metadata: options.metadata ?? {},
    columnDefinitions: options.columnDefinitions === "omit" ? [] : columns.map(columnDefinition),
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, options.now)),
      object: shown(object),
    })),
  };
}

function columnDefinition(column: Column): TableColumnDefinition {
  return {
    name: column.name,
    type: column.type,
    format: column.format ?? "",
    description: column.description,
    priority: column.priority ?? 0,
  };
}

function rowObject(include: IncludeObject, apiVersion: string): (object: ApiObject) => ApiObject | null {
  switch (include) {
    case "None":
      return () => null;
    case "Object":
      return (object) => object;
    case "Metadata":
      return (object) => ({ kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata });
  }
}
