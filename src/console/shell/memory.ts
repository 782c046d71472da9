/** What the console remembers in this browser: habits of the viewer, never anything of the gateway. A browser may refuse both. */
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
    // It is asked for again next time.
  }
}
