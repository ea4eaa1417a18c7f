/** Text of posts as HTML: safe to insert, with #tags in bold and links for @mentions. */

export function escapeHtml(text: string): string {
  let html = "";
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char == "<") html += "&lt;";
    else if (char == ">") html += "&gt;";
    else if (char == "&") html += "&amp;";
    else if (char == '"') html += "&quot;";
    else html += char;
  }
  return html;
}

export function renderText(text: string): string {
  const words = text.split(" ");
  const html: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    const escaped = escapeHtml(word);
    if (word.length > 1 && word.startsWith("#")) html.push(`<b>${escaped}</b>`);
    else if (word.length > 1 && word.startsWith("@"))
      html.push(`<a href="#/people/${escapeHtml(word.substring(1))}">${escaped}</a>`);
    else html.push(escaped);
  }
  return "<p>" + html.join(" ") + "</p>";
}
