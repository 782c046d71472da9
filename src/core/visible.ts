/** Characters that move a terminal's cursor, ring its bell, or reverse a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The same, but for what lines of a file are made of: tabs, breaks, and joiners within a letter or an emoji. */
const COMMANDS = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** A foreign word or sentence, made safe to show in one line: it must not command the reader's terminal. */
export const visible = (text: string): string => text.replace(UNSEEN, '\ufffd');

/** The same of several lines. As long as before, so that carets below stay where they belong. */
export const visibleLines = (text: string): string => text.replace(COMMANDS, '\ufffd');
