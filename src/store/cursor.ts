/**
 * A position in a log of a store. All entries up to it are visible, and no entry will appear there later. Positions of the same log can be
 * compared. They are neither times nor counts.
 */
export type Cursor = number;
