// oxlint-disable-next-line no-underscore-dangle -- the build replaces this name and no other
declare const __PRATIQUE_VERSION__: string;

/** The version of this program; the build puts it in. */
export const release: string = __PRATIQUE_VERSION__;
