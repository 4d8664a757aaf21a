/** On a revocation that the hub made because two machines held one identity: that identity. */
export const clonedAnnotation = "access.pratique.dev/cloned";

/**
 * On the first revocation of a clone lock, until the lock is complete: the fingerprints of the certificates that are to be revoked after
 * it, separated by commas. Set when the revocation is created, and removed later, never added or changed.
 */
export const cloneLockPendingAnnotation = "access.pratique.dev/clone-lock-pending";
