/** By which certificate the hub of one folder was known last; told by who keeps the trust in it, asked by who keeps certificates. */
export interface PresentedCertificate {
  /** As DER; undefined where the hub was not reached. */
  notify(leaf: Uint8Array | undefined): void;
  /** What was told last, undefined before. */
  now(): Promise<Uint8Array | undefined>;
  /** The same, once something was told. */
  first(): Promise<Uint8Array | undefined>;
}

/** Knows of nothing yet. */
export function presentedCertificate(): PresentedCertificate {
  let known: Uint8Array | undefined;
  let reported = (): void => undefined;
  const first = new Promise<void>((resolve) => (reported = resolve));
  return {
    notify: (leaf) => {
      known = leaf;
      reported();
    },
    now: async () => known,
    first: async () => {
      await first;
      return known;
    },
  };
}
