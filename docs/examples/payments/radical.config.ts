export default { name: "payments" };
