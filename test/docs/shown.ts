// Output as a page shows it, with … for what differs each time: within a line any text, alone on a line any lines.

export function matchesShown(shown: string, printed: string): boolean {
  const pattern = shown
    .trim()
    .split('\n')
    .map((line) => (line === '…' ? '(?:[^\\n]*\\n)*?[^\\n]*' : line.split('…').map(escape).join('[^\\n]*')))
    .join('\\n');
  return new RegExp(`^${pattern}$`).test(printed.trim().replaceAll('\r', ''));
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
