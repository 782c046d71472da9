/** The ID of a token's subject, as callers and the ledger see it: `subject_` and 32 hexadecimal digits. */
export const SUBJECT = /^subject_[0-9a-f]{32}$/;

export const SUBJECT_FORM = '`subject_` and 32 hexadecimal digits';

export const isSubject = (id: string): boolean => SUBJECT.test(id);
