/**
 * Reads a preference that this browser stores for the viewer. The console never stores data of the gateway in the browser. A browser may
 * refuse to store and to read.
 */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`signalbox.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`signalbox.${name}`, value);
  } catch {
    // The browser refused to store the preference; the viewer chooses again next time.
  }
}
