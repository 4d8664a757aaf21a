/** On a revocation that the hub made because two machines held one identity: that identity. */
export const clonedAnnotation = "access.pratique.dev/cloned";
