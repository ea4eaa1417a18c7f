/** Members: registering, logging in and out, posting, commenting and voting. */
import { Secret, abort, ascending, now, uuid } from "@radical/sdk";
import { Session, authenticate, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";
import { keepFrontRanked } from "./lib/front";
import { Comment, MAX_DEPTH, Member, Story, comments, karma, members, stories, tallies, votes } from "./lib/records";
import { depthOf, findStory, tallyOf } from "./lib/stories";

const MOST_ASKED = 250;

/** Makes an account and logs in. */
export function register(name: string, password: Secret): Session {
  createAccount(name, password);
  const member = new Member();
  member.name = name;
  member.joinedAt = now();
  members.put(name, member);
  return openSession(name);
}

/** Logs in; null: the name or the password is wrong. */
export function login(name: string, password: Secret): Session | null {
  return isPassword(name, password) ? openSession(name) : null;
}

export function logout(): void {
  closeSession();
}

/** Submits a story: a link, a text, or both. Gives its id. */
export function post(title: string, url: string = "", text: string = ""): string {
  const me = authenticate();
  if (title.trim().length < 3 || title.length > 150) {
    abort(400, "bad_title", "A title has 3 to 150 characters.");
  }
  if (url == "" && text.trim() == "") {
    abort(400, "empty_story", "A story has a link or a text.");
  }
  if (url.length > 500 || (url != "" && !url.startsWith("https://") && !url.startsWith("http://"))) {
    abort(400, "bad_url", "A link begins with https:// or http:// and has at most 500 characters.");
  }
  if (text.length > 10_000) {
    abort(400, "bad_text", "A text has at most 10000 characters.");
  }
  const story = new Story();
  story.id = `${ascending(now())}-${uuid()}`;
  story.author = me;
  story.title = title;
  story.url = url;
  story.text = text;
  story.at = now();
  stories.put(story.id, story);
  keepFrontRanked();
  return story.id;
}

/** Comments on a story, or on the comment `parent` of it. Gives the id of the comment. */
export function comment(story: string, text: string, parent: string = ""): string {
  const me = authenticate();
  if (text.trim().length == 0 || text.length > 5000) {
    abort(400, "bad_text", "A comment has 1 to 5000 characters.");
  }
  findStory(story);
  const tally = tallyOf(story);
  const made = new Comment();
  // Short, as the ids of answers go on from there.
  made.id = `${ascending(now())}-${uuid().substring(0, 8)}`;
  made.author = me;
  made.text = text;
  made.at = now();
  if (parent != "") {
    findComment(story, parent);
    if (depthOf(parent) + 1 >= MAX_DEPTH) {
      abort(409, "too_deep", `Comments are at most ${MAX_DEPTH} deep.`);
    }
    made.id = parent + "/" + made.id;
  }
  comments.put(story + "/" + made.id, made);
  tally.comments += 1;
  tallies.put(story, tally);
  keepFrontRanked();
  return made.id;
}

/**
 * Votes on a story, or on one of its comments: `up`, `down`, or `none` to take the vote back. A vote takes the place of
 * an earlier one, and the same one again changes nothing; the author's karma follows. Gives the score.
 */
export function interact(story: string, vote: string, comment: string = ""): i32 {
  const me = authenticate();
  if (vote != "up" && vote != "down" && vote != "none") {
    abort(400, "bad_vote", "A vote is up, down or none.");
  }
  const value = vote == "up" ? 1 : vote == "down" ? -1 : 0;
  const voted = findStory(story);
  if (comment == "") {
    const tally = tallyOf(story);
    const before = voteOf(story, me);
    if (before != value) {
      castVote(story, me, value);
      tally.ups += count(value, 1) - count(before, 1);
      tally.downs += count(value, -1) - count(before, -1);
      tallies.put(story, tally);
      reward(voted.author, me, value - before);
      keepFrontRanked();
    }
    return tally.ups - tally.downs;
  }
  const answer = findComment(story, comment);
  const key = story + "/" + comment;
  const before = voteOf(key, me);
  if (before != value) {
    castVote(key, me, value);
    answer.ups += count(value, 1) - count(before, 1);
    answer.downs += count(value, -1) - count(before, -1);
    comments.put(key, answer);
    reward(answer.author, me, value - before);
  }
  return answer.ups - answer.downs;
}

/**
 * How the caller has voted, in the order asked: 1, -1, or 0 for none. `on`: ids of stories, and of comments as
 * `id of the story/id of the comment`.
 */
export function myVotes(on: string[]): i32[] {
  const me = authenticate();
  if (on.length > MOST_ASKED) {
    abort(400, "too_many_votes", `A call is about at most ${MOST_ASKED} votes.`);
  }
  const mine: i32[] = [];
  for (const voted of on) mine.push(voted.length > 0 && voted.length <= 400 ? voteOf(voted, me) : 0);
  return mine;
}

/** 1, -1, or 0 for none. */
function voteOf(on: string, name: string): i32 {
  const vote = votes.get(on + "/" + name);
  return vote == null ? 0 : vote.value;
}

function castVote(on: string, name: string, value: i32): void {
  const key = on + "/" + name;
  if (value == 0) {
    votes.delete(key);
    return;
  }
  votes.put(key, { value });
}

function count(value: i32, wanted: i32): i32 {
  return value == wanted ? 1 : 0;
}

/** Nobody earns by voting for themselves. */
function reward(author: string, voter: string, votes: i32): void {
  if (author != voter) karma.add(author, votes);
}

/** The comment `id` on a story; aborts with 404 if there is none. */
function findComment(story: string, id: string): Comment {
  const comment = id.length <= 300 ? comments.get(story + "/" + id) : null;
  if (comment == null) {
    abort(404, "no_such_comment", "The story has no such comment.");
  }
  return comment;
}
