/** Characters that move a terminal's cursor, ring its bell or reverse the direction of a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The characters of `UNSEEN` without those that a file's lines need: tabs, line breaks, and joiners within a letter or an emoji. */
const COMMANDS = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Makes a text from outside safe to show in one line, so that it cannot control the reader's terminal. */
export const visible = (text: string): string => text.replace(UNSEEN, '\ufffd');

/**
 * Makes several lines from outside safe to show. The length of the text stays the same, so that carets below a line still point to the
 * right column.
 */
export const visibleLines = (text: string): string => text.replace(COMMANDS, '\ufffd');
