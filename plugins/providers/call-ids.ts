const NINE = /^[a-zA-Z0-9]{9}$/;
const FIRST_PRIME = 0x01000193;
const SECOND_PRIME = 0x5bd1e995;

/** Maps any ID to nine letters and digits. The mapping is deterministic, because a call and its result must have the same ID. */
export function nineLetters(id: string): string {
  if (NINE.test(id)) return id;
  let first = 0x811c9dc5;
  let second = id.length;
  for (let at = 0; at < id.length; at++) {
    const unit = id.charCodeAt(at);
    first = Math.imul(first ^ unit, FIRST_PRIME);
    second = Math.imul(second ^ unit ^ (second >>> 13), SECOND_PRIME);
  }
  // `mixed` has 53 bits, the maximum of a safe integer, in nine base-36 digits.
  const mixed = (first >>> 0) * 2 ** 21 + (second >>> 11);
  return (mixed % 36 ** 9).toString(36).padStart(9, '0');
}

/**
 * Returns an ID for a tool call whose provider sent none. Clients match results by the ID of the call, so calls of different answers must
 * differ. The ID of an answer is not visible to callers.
 * @param answerId may be empty
 */
export function madeCallId(answerId: string, choice: number, index: number): string {
  const place = `${choice}_${index}`;
  return answerId === '' ? `call_${place}` : `call_${nineLetters(answerId)}_${place}`;
}
