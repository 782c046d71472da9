/**
 * A position in a log of a store. All entries up to a position are visible, and no entry will appear before the position later. Positions
 * of the same log can be compared. Positions are neither times nor counts.
 */
export type Cursor = number;
