/**
 * A place in a log of a store. Everything up to it is visible, and nothing will appear there later. Places of the same log can be
 * compared; they are no times and no counts.
 */
export type Cursor = number;
