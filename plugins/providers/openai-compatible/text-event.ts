import { parseJson, type StreamPart, type TextForm } from 'signalbox/plugin';

type TextPart = Extract<StreamPart, { type: 'text' }>;

/** Text that needs no escaping in JSON. */
const PLAIN = /^[^"\\\p{Cc}]+$/u;
/** Replaces the text of an event to test whether the text is the only thing that differs. */
const PROBE = 'any text';
/**
 * The maximum number of attempts to learn a server's events, because the events of some servers differ in more than their text (a time, a
 * padding).
 */
const LESSONS_MAX = 8;
/** OpenAI's member with random letters, and the quote that begins them. */
const PADDING = '"obfuscation":"';
/** The maximum number of characters of an event, without its text, that are remembered. */
const FORM_MAX = 4_096;

/**
 * Recognizes the common events of a stream, which differ from the event before only in their text. `TextEvent` saves the parsing of JSON
 * for most events of a stream.
 */
export class TextEvent {
  /** The learned form; null before the first event that has a text. */
  form: TextForm | null = null;
  #lessons = 0;

  /** Returns the part of an event that has the learned form; null for any other event. */
  read(data: string): TextPart | null {
    if (!this.form) return null;
    const { choice, before, after, afterPadding } = this.form;
    // The gateway itself reads nearly all events with a padding.
    if (
      afterPadding !== undefined ||
      data.length <= before.length + after.length ||
      !data.startsWith(before) ||
      !data.endsWith(after)
    )
      return null;
    const encoded = data.slice(before.length, -after.length);
    const text = PLAIN.test(encoded) ? encoded : parseJson(`"${encoded}"`);
    return typeof text === 'string' ? { type: 'text', choice, text } : null;
  }

  /**
   * Learns the form of an event.
   *
   * @param parts of the event
   * @param read reads any event into its parts
   */
  learn(data: string, parts: readonly StreamPart[], read: (data: string) => readonly StreamPart[]): void {
    const [part] = parts;
    if (part?.type !== 'text' || parts.length > 1 || this.#lessons === LESSONS_MAX || !PLAIN.test(part.text)) return;
    this.#lessons++;
    const at = data.lastIndexOf(`"${part.text}"`);
    if (at < 0 || data.length - part.text.length > FORM_MAX) return;
    const before = data.slice(0, at + 1);
    const rest = data.slice(at + 1 + part.text.length);
    const padding = rest.indexOf(PADDING) + PADDING.length;
    const after = padding < PADDING.length ? rest : rest.slice(0, padding);
    const afterPadding = after === rest ? undefined : rest.slice(rest.indexOf('"', padding));
    const probe = part.text === PROBE ? `${PROBE}!` : PROBE;
    const probing = before + probe + after + (afterPadding ?? '');
    const [probed, ...others] = read(probing);
    if (probed?.type !== 'text' || probed.text !== probe || probed.choice !== part.choice || others.length > 0) return;
    // Slices of the event itself would keep the text that contains the event in memory.
    const afterAt = before.length + probe.length;
    this.form = {
      choice: part.choice,
      before: probing.slice(0, before.length),
      after: probing.slice(afterAt, afterAt + after.length),
      ...(afterPadding !== undefined && { afterPadding: probing.slice(afterAt + after.length) }),
    };
  }
}
