import { createHash } from 'node:crypto';
import type { GuardMatch } from '../../contract/guard.ts';
import { type Edit, type OriginalPath, valueAt, withEdits } from '../../core/json/original.ts';
import { isShared, noteDerivedBytes, SharedValues, share } from '../../core/json/shared-values.ts';
import { type BodySource, sourceOf } from '../../core/json/source.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { RunningGuard } from './guard-runtime.ts';
import type { RequestText } from './text-walk.ts';

/** The matches of a guard in a window. */
interface KeptWindow {
  /** The texts that the guard has inspected, if all are texts of the part at which the window is kept. */
  readonly texts: readonly RequestText[] | null;
  /** A hash of the texts of any other window, because a kept text must not outlive its message. */
  readonly hash: string | null;
  readonly matches: readonly GuardMatch[];
  /** The estimated memory, in bytes. */
  readonly bytes: number;
}

/** The findings of the guards of one policy in the windows of a message or of another part of a body. */
interface KeptVerdicts {
  /** The guards of the policy. Each loading of a policy makes other objects. */
  readonly guards: readonly RunningGuard[];
  /** By the index of the guard, the oldest window first. */
  readonly windows: KeptWindow[][];
  /** The estimated memory, in bytes. */
  bytes: number;
}

/** The last change of a message by guards, and the changed message. */
interface KeptEdit {
  readonly edits: readonly Edit[];
  readonly message: object;
}

/**
 * The largest number of windows of one guard at one part. A message has one window for each round of masking. The first message also counts the windows for
 * texts that belong to no message, such as a system prompt.
 */
const WINDOWS_MAX = 24;
/** Estimates of memory, in bytes: of a window, of a text in it, of a match, and of a changed message without its text. */
const WINDOW_BYTES = 256;
const TEXT_BYTES = 256;
const MATCH_BYTES = 128;
const MESSAGE_BYTES = 1_024;

const verdicts = new SharedValues<object, KeptVerdicts>();
const editedMessages = new SharedValues<object, KeptEdit>();

/** Whether the matches of a guard in a window depend on nothing except this window. */
const isKeepable = ({ rule }: RunningGuard): boolean => rule.isPure && !rule.service && rule.window !== 'all';

/**
 * The matches of pure guards in the messages of a running conversation, so that a turn inspects only its new messages. They are kept with
 * the messages in memory, belong to their key, and end with them. A kept match counts only for a window with the same texts, whether the
 * caller, a guard or another message changed it.
 */
export class KeptMatches {
  readonly #source: BodySource;
  readonly #guards: readonly RunningGuard[];
  /** The hashes of windows of this request. */
  readonly #hashes = new Map<readonly RequestText[], string>();

  private constructor(source: BodySource, guards: readonly RunningGuard[]) {
    this.#source = source;
    this.#guards = guards;
  }

  /**
   * Returns the kept matches of a request; null if its conversation is not kept.
   * @param guards all guards of the policy
   */
  static of({ original: { body } }: ModelRequest, guards: readonly RunningGuard[]): KeptMatches | null {
    const source = sourceOf(body);
    return source ? new KeptMatches(source, guards) : null;
  }

  /** Returns what a guard found in a window with the same texts; undefined if it must inspect the window. */
  find(guard: RunningGuard, window: readonly RequestText[]): readonly GuardMatch[] | undefined {
    if (!isKeepable(guard)) return undefined;
    const { part, isOwn } = this.#placeOf(window);
    const known = part && this.#verdictsOf(part)?.windows[this.#guards.indexOf(guard)];
    return known?.find(({ texts, hash }) =>
      isOwn ? texts !== null && areSame(texts, window) : hash !== null && hash === this.#hashOf(window),
    )?.matches;
  }

  /** Keeps what a guard found in a window that it has just inspected. */
  keep(guard: RunningGuard, window: readonly RequestText[], matches: readonly GuardMatch[]): void {
    const index = this.#guards.indexOf(guard);
    const { part, isOwn } = this.#placeOf(window);
    if (!isKeepable(guard) || index < 0 || part === null) return;
    const kept: KeptWindow = {
      bytes: WINDOW_BYTES + matches.length * MATCH_BYTES + (isOwn ? bytesOf(window, part, this.#source) : 0),
      texts: isOwn ? window : null,
      hash: isOwn ? null : this.#hashOf(window),
      // The plugin may still have the list, and may change it.
      matches: matches.map(({ kind, at }) =>
        at ? { kind, at: { text: at.text, from: at.from, to: at.to } } : { kind },
      ),
    };
    const own = this.#verdictsOf(part) ?? this.#begin(part);
    own.windows[index] ??= [];
    const windows = own.windows[index];
    const dropped = windows.length === WINDOWS_MAX ? windows.shift()!.bytes : 0;
    windows.push(kept);
    this.#grow(part, own, kept.bytes - dropped);
  }

  /**
   * Returns edits with the same effect. If an earlier turn changed a message in the same way, its changed message replaces the message, so
   * that everything that was derived from it is known.
   */
  knownEdits({ original: { body } }: ModelRequest, edits: readonly Edit[]): readonly Edit[] {
    const { list } = this.#source;
    const messages = body[list];
    if (!Array.isArray(messages)) return edits;
    const byMessage = Map.groupBy(edits, ({ at }) => (at[0] === list && at.length > 2 ? at[1] : undefined));
    return [...byMessage].flatMap(([index, own]) => {
      const message: unknown = typeof index === 'number' ? messages[index] : undefined;
      if (typeof index !== 'number' || typeof message !== 'object' || message === null || !isShared(message))
        return own;
      const inside = own.map(({ at, value }) => ({ at: at.slice(2), value }));
      return [{ at: [list, index], value: this.#edited(message, index, inside) }];
    });
  }

  #edited(message: object, index: number, edits: readonly Edit[]): object {
    const known = editedMessages.get(message);
    if (known && areSameEdits(known.edits, edits)) return known.message;
    const edited = withEdits(message, edits);
    share(edited);
    editedMessages.set(message, { edits, message: edited });
    const part = this.#source.messages[index];
    // The changed text is kept in the edits, in the message, and as the JSON that is sent.
    const bytes = MESSAGE_BYTES + 4 * JSON.stringify(edited).length;
    if (!known && typeof part === 'object' && part !== null) this.#count(part, bytes);
    return edited;
  }

  /** Returns the part of the body at which a window is kept, and whether all its texts are texts of this part. */
  #placeOf(window: readonly RequestText[]): { readonly part: object | null; readonly isOwn: boolean } {
    const { list, messages, members } = this.#source;
    const { at } = window.at(-1)!;
    const [field, index] = at;
    const isMessage = field === list && typeof index === 'number';
    const own = isMessage ? messages[index] : members.get(String(field))?.value;
    if (typeof own !== 'object' || own === null || !isShared(own)) {
      const [first] = messages;
      return { part: typeof first === 'object' && first !== null && isShared(first) ? first : null, isOwn: false };
    }
    return { part: own, isOwn: window.every((text) => isWithin(text.at, field, isMessage ? index : null)) };
  }

  #verdictsOf(part: object): KeptVerdicts | undefined {
    const known = verdicts.get(part);
    return known?.guards === this.#guards ? known : undefined;
  }

  /** Forgets the verdicts of other guards. */
  #begin(part: object): KeptVerdicts {
    const former = verdicts.get(part)?.bytes ?? 0;
    if (former > 0) this.#count(part, -former);
    return verdicts.set(part, { guards: this.#guards, windows: [], bytes: 0 });
  }

  #grow(part: object, own: KeptVerdicts, bytes: number): void {
    own.bytes += bytes;
    this.#count(part, bytes);
  }

  #count(part: object, bytes: number): void {
    noteDerivedBytes(part, bytes);
    this.#source.grow?.(bytes);
  }

  #hashOf(window: readonly RequestText[]): string {
    return this.#hashes.getOrInsertComputed(window, () =>
      createHash('sha256')
        .update(JSON.stringify(window.map(({ text, role, kind }) => [text, role, kind])))
        .digest('base64'),
    );
  }
}

const isWithin = (at: OriginalPath, field: string | number | undefined, index: number | null): boolean =>
  at[0] === field && (index === null || at[1] === index);

function areSame(some: readonly RequestText[], others: readonly RequestText[]): boolean {
  if (some === others) return true;
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) {
    const [one, other] = [some[at]!, others[at]!];
    if (one.text !== other.text || one.role !== other.role || one.kind !== other.kind) return false;
  }
  return true;
}

const areSameEdits = (some: readonly Edit[], others: readonly Edit[]): boolean =>
  some.length === others.length &&
  some.every(({ at, value }, index) => {
    const other = others[index]!;
    return (
      value === other.value && at.length === other.at.length && at.every((step, depth) => step === other.at[depth])
    );
  });

/** Estimates the memory of the texts of a part. A text that is not a value of the part is a copy, for example with placeholders. */
function bytesOf(window: readonly RequestText[], part: object, { list }: BodySource): number {
  let bytes = 0;
  for (const { at, text } of window) {
    const inside = at.slice(at[0] === list ? 2 : 1);
    bytes += TEXT_BYTES + (valueAt(part, inside) === text ? 0 : 2 * text.length);
  }
  return bytes;
}
